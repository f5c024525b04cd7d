/** The source of a reporter for the Node.js test runner. */

/**
 * Returns the source of a module that reports as `spec` does, except for files without tests: the runner counts each as
 * a test that passed. `names`: the name of each file for people, by the path of its bundle.
 */
export function testReporter(names: ReadonlyMap<string, string>): string {
  return `import path from 'node:path';
import { Readable } from 'node:stream';
import { spec } from 'node:test/reporters';

const names = new Map(${JSON.stringify([...names])});
const isFile = ({ name, file }) => names.has(file) && path.resolve(name) === file;

export default async function* (source) {
  const empty = [];
  async function* withoutEmpty() {
    const starts = new Map();
    for await (const event of source) {
      const { type, data } = event;
      if (type === 'test:start' && isFile(data)) starts.set(data.file, event);
      else if (type === 'test:pass' && isFile(data)) empty.push(names.get(data.file));
      else {
        if (type === 'test:fail' && isFile(data) && starts.has(data.file)) yield starts.get(data.file);
        const [, what, count] = type === 'test:diagnostic' ? (/^(tests|pass) (\\d+)$/.exec(data.message) ?? []) : [];
        if (count === undefined) yield event;
        else yield { type, data: { ...data, message: what + ' ' + (Number(count) - empty.length) } };
      }
    }
  }
  yield* Readable.from(withoutEmpty()).compose(new spec());
  for (const name of empty) yield '✖ ' + name + ' has no tests.\\n';
  if (empty.length > 0) process.exitCode = 1;
}
`;
}
