/** What a command of the command line is: its words, its options, and what it does. */
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
 * 0 done, 1 something the user asked about failed, 3 part of it was lost to infrastructure, 130 interrupted; everything
 * else is thrown as a StudioError.
 */
export type Outcome = 0 | 1 | 3 | 130;

export interface Command {
  readonly name: string;
  /** Words after the name, e.g. `BATCH`. */
  readonly usage: string;
  readonly text: string;
  readonly options: Readonly<Record<string, Option>>;
  run(context: Context, given: CommandLine): Promise<Outcome>;
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

/** For commands that speak a protocol on stdin and stdout: language and debug clients pass it, and it changes nothing. */
export const STDIO_OPTION: Readonly<Record<string, Option>> = {
  stdio: { type: 'boolean', text: 'use stdin and stdout (the default)' },
};

/** The value of a text option, if given. */
export function textOption(given: CommandLine, name: string): string | undefined {
  const value = given.options[name];
  return typeof value === 'string' ? value : undefined;
}

/** All values of an option that may be repeated. */
export function textOptions(given: CommandLine, name: string): string[] {
  const value = given.options[name];
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
}

export function flag(given: CommandLine, name: string): boolean {
  return given.options[name] === true;
}

/** The whole number an option gives, at least `least`; throws `usage` otherwise. */
export function numberOption(given: CommandLine, name: string, least: number): number | undefined {
  const text = textOption(given, name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < least) {
    throw new StudioError('usage', `--${name} takes a whole number from ${least} on, not “${text}”.`);
  }
  return value;
}

/** The one word a command takes; throws `usage` when it is missing or there are more. */
export function oneWord(command: Command, given: CommandLine): string {
  const [word, ...more] = given.words;
  if (word === undefined || more.length > 0)
    throw new StudioError('usage', `usage: rollout ${command.name} ${command.usage}`);
  return word;
}
