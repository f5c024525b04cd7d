/** The output channel, which makes every text harmless, and keeps its last lines for diagnostics. */
import * as vscode from 'vscode';
import { harmless } from '../../common/harmless.ts';
import { LogBuffer } from './logBuffer.ts';

export interface Log {
  readonly channel: vscode.LogOutputChannel;
  /** Last lines, oldest first. */
  readonly lines: readonly string[];
  dispose(): void;
}

const MAX_LINES = 200;
const TEXTS = ['append', 'appendLine', 'replace'] as const;
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const;

export function createLog(): Log {
  const channel = vscode.window.createOutputChannel('Rollout', { log: true });
  const buffer = new LogBuffer(MAX_LINES);
  const methods = Object.fromEntries(
    LEVELS.map((level) => [
      level,
      (message: string | Error, ...args: unknown[]): void => {
        const text = harmless(textOf(message));
        const rest = args.map((part) => (typeof part === 'string' ? harmless(part) : part));
        buffer.add(level, text, rest);
        channel[level](text, ...rest);
      },
    ]),
  );
  for (const name of TEXTS) methods[name] = (text: string | Error): void => channel[name](harmless(textOf(text)));
  const recorded = new Proxy(channel, {
    get(target, key): unknown {
      if (typeof key === 'string' && Object.hasOwn(methods, key)) return methods[key];
      const member: unknown = Reflect.get(target, key, target);
      return typeof member === 'function'
        ? (...args: unknown[]): unknown => Reflect.apply(member, target, args)
        : member;
    },
  });
  return {
    channel: recorded,
    get lines() {
      return buffer.lines;
    },
    dispose: () => channel.dispose(),
  };
}

function textOf(message: string | Error): string {
  return message instanceof Error ? (message.stack ?? message.message) : message;
}
