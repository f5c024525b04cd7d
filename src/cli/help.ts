/** The help texts, made from the commands' own tables. */
import type { Command, Option } from './command.ts';

function optionLines(options: Readonly<Record<string, Option>>): string[] {
  const rows = Object.entries(options).map(([name, option]): [string, string] => [
    `${option.short === undefined ? '' : `-${option.short}, `}--${name}${option.value === undefined ? '' : ` ${option.value}`}`,
    option.text,
  ]);
  const width = Math.max(...rows.map(([left]) => left.length)) + 2;
  return rows.map(([left, right]) => `  ${left.padEnd(width)}${right}`);
}

export function helpOf(command: Command, global: Readonly<Record<string, Option>>): string {
  const own = Object.keys(command.options).length === 0 ? [] : ['', 'Options', ...optionLines(command.options)];
  return [
    `rollout ${command.name} ${command.usage}`.trimEnd(),
    '',
    command.text,
    ...own,
    '',
    'Everywhere',
    ...optionLines(global),
    '',
  ].join('\n');
}

export function helpOfAll(commands: readonly Command[], global: Readonly<Record<string, Option>>): string {
  const width = Math.max(...commands.map((command) => command.name.length)) + 2;
  return [
    'rollout COMMAND [ARGUMENTS]: run agents on tasks, many times, and read what happened.',
    '',
    ...commands.map((command) => `  ${command.name.padEnd(width)}${command.text.split('\n')[0] ?? ''}`),
    '',
    'Everywhere',
    ...optionLines(global),
    '',
    'References: BATCH, ROLLOUT[:STEP|@SEQ], BATCH/TASK/ATTEMPT[:STEP|@SEQ]; last = the newest batch.',
    'Exit codes: 0 done · 1 ran, but something asked about failed · 2 the call or a file is wrong · 3 ' +
      'infrastructure · 130 interrupted.',
    '',
  ].join('\n');
}
