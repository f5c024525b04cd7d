/** Builds the help texts from the command definitions. */
import type { Command, Option } from './command.ts';

function optionLines(options: Readonly<Record<string, Option>>): string[] {
  const rows = Object.entries(options).map(([name, option]): [string, string] => {
    const short = option.short === undefined ? '' : `-${option.short}, `;
    const value = option.value === undefined ? '' : ` ${option.value}`;
    return [`${short}--${name}${value}`, option.text];
  });
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
    'Global options',
    ...optionLines(global),
  ].join('\n');
}

export function helpOfAll(commands: readonly Command[], global: Readonly<Record<string, Option>>): string {
  const width = Math.max(...commands.map((command) => command.name.length)) + 2;
  return [
    'rollout COMMAND [ARGUMENTS]: run agents on tasks many times and inspect the results.',
    '',
    ...commands.map((command) => `  ${command.name.padEnd(width)}${command.text.split('\n')[0] ?? ''}`),
    '',
    'Global options',
    ...optionLines(global),
    '',
    'References: BATCH, ROLLOUT[:STEP|@SEQ], BATCH/TASK/ATTEMPT[:STEP|@SEQ]. `last` is the newest batch.',
    'Exit codes: 0 success · 1 a checked result failed · 2 invalid usage or file · 3 infrastructure failure · ' +
      '130 interrupted.',
  ].join('\n');
}
