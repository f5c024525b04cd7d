import { type Document, DomHandler } from 'domhandler';
import { Parser } from 'htmlparser2';
import { ClassedError } from '../../trace/classedError.ts';

/** Limits nesting: the parser gets slower with every level. */
const MAX_DEPTH = 25_000;

class BoundedHandler extends DomHandler {
  override onopentag(name: string, attribs: Record<string, string>): void {
    if (this.tagStack.length > MAX_DEPTH)
      throw new ClassedError('tool_error', `The content is nested too deeply (more than ${MAX_DEPTH} levels).`);
    super.onopentag(name, attribs);
  }
}

/** Parses HTML or XML to a tree. Throws ClassedError `tool_error` if it is nested too deeply. */
export function parseMarkup(text: string, options: { readonly xml: boolean }): Document {
  const handler = new BoundedHandler(undefined, { xmlMode: options.xml });
  new Parser(handler, { xmlMode: options.xml }).end(text);
  return handler.root;
}
