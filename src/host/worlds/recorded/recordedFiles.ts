/** The files of a batch in a recorded world, made from those of the recorded batch. Does not depend on VS Code. */
import { isMap, parseDocument } from 'yaml';

/** Returns a list for `from`: on one line if there is one, otherwise with a line for each. */
export function fromList(references: readonly string[]): string {
  const [only, ...more] = references.map((reference) => (/^[\w./-]+$/.test(reference) ? reference : quoted(reference)));
  return more.length === 0 ? `[${only ?? ''}]` : ['', only, ...more].join('\n  - ');
}

function quoted(text: string): string {
  return JSON.stringify(text); // a JSON text is YAML
}

interface BatchChanges {
  /** Paths relative to the batch file. */
  readonly world: string;
  /** Absent: the same agent. */
  readonly agent?: string | undefined;
}

/**
 * Returns the text of a batch file with another world. A recorded world has no verifier, so a scorer that needs one
 * becomes one that reads the answer. Comments stay. Undefined if the text is not that of a batch file.
 */
export function batchInWorld(text: string, { world, agent }: BatchChanges): string | undefined {
  const document = parseDocument(text);
  if (document.errors.length > 0 || !isMap(document.contents)) return undefined;
  document.set('world', world);
  if (agent !== undefined) document.set('agent', agent);
  if (document.getIn(['scorer', 'kind']) === 'world')
    document.set('scorer', document.createNode({ kind: 'contains' }, { flow: true }));
  document.delete('name'); // it would be that of the recorded batch
  return document.toString({ lineWidth: 0 });
}

/** Returns the text of an agent file without its own tools. Undefined if it is not that of an agent file. */
export function agentWithoutTools(text: string): string | undefined {
  const document = parseDocument(text);
  if (document.errors.length > 0 || !isMap(document.contents)) return undefined;
  document.delete('tools');
  return document.toString({ lineWidth: 0 });
}
