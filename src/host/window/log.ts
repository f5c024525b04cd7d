/** The output channel, which keeps its last lines for diagnostics. */
import * as vscode from 'vscode';
import { LogBuffer } from './logBuffer.ts';

export interface Log {
  readonly channel: vscode.LogOutputChannel;
  /** Last lines, oldest first. */
  readonly lines: readonly string[];
  dispose(): void;
}

const MAX_LINES = 200;
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const;

export function createLog(): Log {
  const channel = vscode.window.createOutputChannel('Rollout', { log: true });
  const buffer = new LogBuffer(MAX_LINES);
  const methods = Object.fromEntries(
    LEVELS.map((level) => [
      level,
      (message: string | Error, ...args: unknown[]): void => {
        buffer.add(level, message, args);
        // Only the error level accepts an Error, whose stack it logs.
        if (level === 'error') channel.error(message, ...args);
        else channel[level](String(message), ...args);
      },
    ]),
  );
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
