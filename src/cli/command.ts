/** The interface of a CLI command, and helpers to read its arguments. */
import type { ParseArgsConfig } from 'node:util';
import { StudioError } from '../common/errors.ts';
import type { Context } from './context.ts';

export interface Option {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  /** Placeholder of the value, e.g. `N`. */
  readonly value?: string;
  readonly text: string;
  readonly multiple?: boolean;
}

export interface CommandLine {
  readonly words: readonly string[];
  readonly options: Readonly<Record<string, string | boolean | readonly (string | boolean)[] | undefined>>;
}

/**
 * An exit code: 0 success, 1 a checked result failed, 3 attempts were lost to infrastructure, 130 interrupted. Any
 * other failure is thrown as a StudioError.
 */
export type Outcome = 0 | 1 | 3 | 130;

/** What a command does, if its first word says so. */
export interface Verb {
  /** Words after the verb, e.g. `--out FOLDER`. */
  readonly usage: string;
  readonly text: string;
  /** Names of the options that it takes. */
  readonly options: readonly string[];
}

export interface Command {
  readonly name: string;
  /** Words after the name, e.g. `BATCH`. */
  readonly usage: string;
  readonly text: string;
  readonly options: Readonly<Record<string, Option>>;
  /** With them, each verb has a help of its own. */
  readonly verbs?: Readonly<Record<string, Verb>>;
  /** Headings in the help, with the names of the options below each. Others come first. */
  readonly sections?: Readonly<Record<string, readonly string[]>>;
  run(context: Context, commandLine: CommandLine): Promise<Outcome>;
}

export function parseOptions(options: Readonly<Record<string, Option>>): NonNullable<ParseArgsConfig['options']> {
  return Object.fromEntries(
    Object.entries(options).map(([name, option]) => [
      name,
      {
        type: option.type,
        ...(option.short === undefined ? {} : { short: option.short }),
        ...(option.multiple === true ? { multiple: true } : {}),
      },
    ]),
  );
}

/** Throws StudioError `usage` if the command line has an option that the verb does not take. */
export function refuseOtherOptions({ name, options }: Command, verb: string, takes: Verb, line: CommandLine): void {
  const other = Object.keys(options).find(
    (option) => line.options[option] !== undefined && !takes.options.includes(option),
  );
  if (other === undefined) return;
  throw new StudioError('usage', `rollout ${name} ${verb} has no option --${other}.`, {
    hint: `See its options with rollout ${name} ${verb} --help.`,
  });
}

/** Has no effect: language and debug clients pass it to commands that speak a protocol on stdin and stdout. */
export const STDIO_OPTION: Readonly<Record<string, Option>> = {
  stdio: { type: 'boolean', text: 'use stdin and stdout (the default)' },
};

/** Its values are read by `parseFailUnder`. */
export const FAIL_UNDER_OPTION: Readonly<Record<string, Option>> = {
  'fail-under': {
    type: 'string',
    value: 'pass@K=X',
    text: 'exit with 1 if the result is below this threshold; repeatable',
    multiple: true,
  },
};

/** For debuggers that launch through the command line. */
export const HELD_BY_OPTION: Readonly<Record<string, Option>> = {
  'held-by': { type: 'string', value: 'NAME', text: 'for a debugger: who holds the attempt, as views say it' },
};

/** Returns the value of a text option, or undefined if it is absent. */
export function textOption(commandLine: CommandLine, name: string): string | undefined {
  const value = commandLine.options[name];
  return typeof value === 'string' ? value : undefined;
}

/** Returns all values of a repeatable option. */
export function textOptions(commandLine: CommandLine, name: string): string[] {
  const value = commandLine.options[name];
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
}

export function flag(commandLine: CommandLine, name: string): boolean {
  return commandLine.options[name] === true;
}

/** Returns the integer value of an option. Throws StudioError `usage` if it is not an integer of at least `min`. */
export function numberOption(commandLine: CommandLine, name: string, min: number): number | undefined {
  const text = textOption(commandLine, name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < min) {
    throw new StudioError('usage', `--${name} must be an integer of at least ${min}, not “${text}”.`);
  }
  return value;
}

/** Returns the only positional argument. Throws StudioError `usage` if there are none or several. */
export function oneWord(command: Command, commandLine: CommandLine): string {
  const [word, ...more] = commandLine.words;
  if (word === undefined || more.length > 0)
    throw new StudioError('usage', `usage: rollout ${command.name} ${command.usage}`);
  return word;
}
