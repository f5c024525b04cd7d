/** Builds the help texts from the command definitions. */
import type { Command, Option } from './command.ts';

/** Columns that a help takes, unless the terminal has fewer. */
const MAX_WIDTH = 120;
/** Texts of options have at least this many columns. */
const MIN_TEXT = 30;

type Options = Readonly<Record<string, Option>>;

function optionLines(options: Options, all = options): string[] {
  const left = (name: string, { short, value }: Option): string =>
    `${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`;
  const indent = Math.max(...Object.entries(all).map(([name, option]) => left(name, option).length)) + 4;
  const width = Math.max(
    MIN_TEXT,
    Math.min(process.stdout.isTTY ? process.stdout.columns : MAX_WIDTH, MAX_WIDTH) - indent,
  );
  return Object.entries(options).map(([name, option]) => {
    const text = wrapped(option.text, width).join(`\n${' '.repeat(indent)}`);
    return `  ${left(name, option)}`.padEnd(indent) + text;
  });
}

/** Returns lines of at most `width` columns, if words are not longer. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

/** Returns the help of a command, or of one of its verbs. */
export function helpOf(command: Command, global: Options, verb?: string): string {
  const { name, verbs = {}, options } = command;
  const chosen = verb !== undefined && Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  if (chosen !== undefined)
    return [
      `rollout ${name} ${verb ?? ''} ${chosen.usage}`.trimEnd(),
      '',
      chosen.text,
      ...sections(command, pick(options, chosen.options)),
      '',
      'Global options',
      ...optionLines(global),
    ].join('\n');
  const width = Math.max(0, ...Object.keys(verbs).map((each) => each.length)) + 2;
  return [
    `rollout ${name} ${command.usage}`.trimEnd(),
    '',
    command.text,
    ...(command.verbs === undefined
      ? sections(command, options)
      : [
          '',
          ...Object.entries(verbs).map(([each, { text }]) => `  ${each.padEnd(width)}${firstLine(text)}`),
          '',
          `Options: rollout ${name} ${Object.keys(verbs).join('|')} --help`,
        ]),
    '',
    'Global options',
    ...optionLines(global),
  ].join('\n');
}

/** Returns options below their headings. */
function sections({ sections: headings = {} }: Command, options: Options): string[] {
  const placed = new Set(Object.values(headings).flat());
  const rest = Object.keys(options).filter((name) => !placed.has(name));
  return Object.entries({ Options: rest, ...headings }).flatMap(([heading, names]) => {
    const own = pick(options, names);
    return Object.keys(own).length === 0 ? [] : ['', heading, ...optionLines(own, options)];
  });
}

function pick(options: Options, names: readonly string[]): Options {
  return Object.fromEntries(Object.entries(options).filter(([name]) => names.includes(name)));
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? '';
}

export function helpOfAll(commands: readonly Command[], global: Options): string {
  const width = Math.max(...commands.map((command) => command.name.length)) + 2;
  return [
    'rollout COMMAND [ARGUMENTS]: run agents on tasks many times and inspect the results.',
    '',
    ...commands.map((command) => `  ${command.name.padEnd(width)}${firstLine(command.text)}`),
    '',
    'Global options',
    ...optionLines(global),
    '',
    'References: BATCH, ROLLOUT[:STEP|@SEQ], BATCH/TASK/ATTEMPT[:STEP|@SEQ]. `last` is the newest batch.',
    'Exit codes: 0 success · 1 a checked result failed · 2 invalid usage or file · 3 infrastructure failure · ' +
      '130 interrupted.',
  ].join('\n');
}
