import type { DatasetItem } from '../dataset/dataset.ts';
import { fieldNames, placeholdersOf, taskField } from '../prompt.ts';
import type { ParsedFile, Path } from '../source/parse.ts';
import type { Problem, Range } from '../source/problem.ts';
import { closest } from '../source/suggest.ts';
import type { PromptText, Reading } from './reading.ts';

/** Checks each `{{task.*}}` in a prompt against the first tasks; without tasks, checks only the syntax. */
export function checkPlaceholders(
  reading: Reading,
  parsed: ParsedFile,
  at: Path,
  prompt: PromptText,
  tasks: readonly DatasetItem[],
  options: { mayKnowAnswer: boolean },
): void {
  const report = (
    place: { offset: number; length: number },
    what: Pick<Problem, 'message' | 'hint' | 'severity' | 'fixes'>,
  ): void => {
    const problem: Problem =
      prompt.path === undefined
        ? { ...parsed.problem(at, { code: 'placeholder', ...what }), ...writtenAt(parsed, at, prompt.text, place) }
        : {
            file: prompt.path,
            ...lineAndColumn(prompt.text, place.offset, place.length),
            code: 'placeholder',
            ...what,
          };
    reading.add(parsed, problem);
  };
  const names = new Set(tasks.flatMap(({ task }) => fieldNames(task)));
  for (const placeholder of placeholdersOf(prompt.text)) {
    const { path } = placeholder;
    if (path === '') {
      report(placeholder, {
        severity: 'error',
        message: '`{{task.}}` does not name a field',
        hint: 'For example, write {{task.question}}.',
      });
      continue;
    }
    const without = tasks.filter(({ task }) => taskField(task, path) === undefined);
    const [first] = without;
    if (first !== undefined) {
      const all = without.length === tasks.length;
      const near = names.has(`meta.${path}`) ? `meta.${path}` : closest(path, names);
      report(placeholder, {
        severity: 'error',
        message:
          `\`{{task.${path}}}\`: ${all ? 'tasks have' : `task \`${first.task.id}\` (line ${first.line}) has`} no ` +
          `\`${path}\``,
        hint:
          near === undefined || near === path
            ? all
              ? `Available: ${[...names].join(', ')}.`
              : 'Add it to every record; use null if there is no value.'
            : `Did you mean \`{{task.${near}}}\`?`,
        ...(near === undefined || near === path ? {} : { fixes: [{ do: 'replace', text: `{{task.${near}}}` }] }),
      });
    } else if (path === 'answer' && !options.mayKnowAnswer) {
      report(placeholder, {
        severity: 'warning',
        message: '`{{task.answer}}` reveals the expected answer to the agent',
        hint: 'Remove it, unless this is intended.',
        fixes: [{ do: 'replace', text: '' }],
      });
    }
  }
  for (const match of prompt.text.matchAll(/\{\{\s*([\w ]+?)\s*\}\}/g)) {
    const name = [match[1] ?? '', `meta.${match[1] ?? ''}`].find((path) => names.has(path));
    if (name === undefined) continue;
    report(
      { offset: match.index, length: match[0].length },
      {
        severity: 'warning',
        message: `\`${match[0]}\` is not replaced`,
        hint: `Write {{task.${name}}}.`,
        fixes: [{ do: 'replace', text: `{{task.${name}}}` }],
      },
    );
  }
}

/**
 * Locates a piece of an inline prompt in the text of the file: if it is the n-th occurrence in the prompt, it is also
 * the n-th occurrence in the file.
 */
function writtenAt(
  parsed: ParsedFile,
  at: Path,
  prompt: string,
  { offset, length }: { offset: number; length: number },
): Partial<Range> {
  const range = parsed.wholeRange(at);
  if (range === undefined) return {};
  const lines = parsed.text.split('\n');
  const start = lines.slice(0, range.line - 1).reduce((sum, line) => sum + line.length + 1, 0) + range.column - 1;
  const piece = prompt.slice(offset, offset + length);
  let found = parsed.text.indexOf(piece, start);
  for (
    let earlier = prompt.indexOf(piece);
    earlier !== -1 && earlier < offset && found !== -1;
    earlier = prompt.indexOf(piece, earlier + 1)
  )
    found = parsed.text.indexOf(piece, found + 1);
  const place = found === -1 ? undefined : lineAndColumn(parsed.text, found, length);
  return place === undefined || place.line > range.endLine ? {} : place;
}

function lineAndColumn(
  text: string,
  offset: number,
  length: number,
): Pick<Problem, 'line' | 'column' | 'endLine' | 'endColumn'> {
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  const column = offset - before.lastIndexOf('\n');
  return { line, column, endLine: line, endColumn: column + length };
}
