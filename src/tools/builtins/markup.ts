import { type Document, DomHandler } from 'domhandler';
import { Parser } from 'htmlparser2';
import { ClassedError } from '../../trace/classedError.ts';

/** Deeper than anything that people write; the parser takes ever longer for each level. */
const DEEPEST = 25_000;

class BoundedHandler extends DomHandler {
  override onopentag(name: string, attribs: Record<string, string>): void {
    if (this.tagStack.length > DEEPEST)
      throw new ClassedError('tool_error', `What is in it is nested too deeply, more than ${DEEPEST} levels.`);
    super.onopentag(name, attribs);
  }
}

/** HTML or XML as a tree. Throws ClassedError `tool_error` for what is nested so that nobody could go through it. */
export function parseMarkup(text: string, options: { readonly xml: boolean }): Document {
  const handler = new BoundedHandler(undefined, { xmlMode: options.xml });
  new Parser(handler, { xmlMode: options.xml }).end(text);
  return handler.root;
}
