import { z } from 'zod';
import { shortageOf } from '../../common/shortage.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { Change, ErrorClass, Place } from '../../trace/schema.ts';
import { change } from '../../trace/schema.ts';
import { abortedError } from '../aborted.ts';
import type { ModulePool } from './modulePool.ts';
import type { Thrown } from './protocol.ts';
import { sandboxHint } from './sandboxHint.ts';
import { AbortedCall, ThreadLost, UserError } from './threadErrors.ts';

interface ErrorContext {
  readonly pool: Pick<ModulePool, 'mapper' | 'sandbox'>;
  /** The working directory. */
  readonly cwd: string;
  readonly signal: AbortSignal;
  /** Class of errors thrown by user code. */
  readonly thrown: ErrorClass;
  /** Class if another call on the same thread caused it to end. */
  readonly threadLost: ErrorClass;
  /** Class if this call caused it to end. Default: as errors thrown by user code. */
  readonly threadEnded?: ErrorClass;
  /** Definition of the tool, for errors without a frame in user code. */
  readonly place?: Place | undefined;
}

/** As `classed`, for what opens a world: a shortage of the machine is not the world's fault. */
export function classedOpening(error: unknown, context: ErrorContext): ClassedError {
  const { class: of, message, place, userStack: stack } = classed(error, context);
  const isShortage = of !== 'cancelled' && shortageOf(error) !== undefined;
  return new ClassedError(isShortage ? 'infrastructure' : of, message, { cause: error, place, stack });
}

/** Converts the error of a thread's operation to an error of the rollout. */
export function classed(error: unknown, context: ErrorContext): ClassedError {
  if (error instanceof AbortedCall) return abortedError(context.signal);
  if (error instanceof UserError) return userError(error, context);
  if (error instanceof ThreadLost) {
    if (!error.guilty)
      return new ClassedError(context.threadLost, `The thread of this call ended: ${error.message}.`, { cause: error });
    const message = `The tool's thread ended: ${error.message}.`;
    const { text, place } = context.pool.mapper.userStack(message, error.threadStack);
    return new ClassedError(context.threadEnded ?? context.thrown, message, {
      cause: error,
      place: place ?? context.place,
      stack: text,
    });
  }
  return ClassedError.from(error, context.thrown);
}

function userError(error: UserError, context: ErrorContext): ClassedError {
  const changes = error.changes === undefined ? undefined : readChanges(error.changes);
  const { kind, stack } = error.thrown;
  const message = withHint(error.thrown, context);
  if (kind === 'invalid') return new ClassedError('invalid_arguments', message, { cause: error, changes });
  if (kind === 'result')
    return new ClassedError(context.thrown, message, { cause: error, place: context.place, changes });
  const user = context.pool.mapper.userStack(message, stack);
  return new ClassedError(context.thrown, message, {
    cause: error,
    place: user.place ?? context.place,
    stack: user.text,
    changes,
  });
}

function withHint({ message, file }: Thrown, { pool, cwd }: ErrorContext): string {
  const hint = file === undefined || pool.sandbox === undefined ? undefined : sandboxHint(file, pool.sandbox, cwd);
  return hint === undefined ? message : `${message}. ${hint}`;
}

/** Parses the result of a world's `diff`. Throws ClassedError `world_error`. */
export function readChanges(text: string): Change[] {
  const parsed = z.array(change).safeParse(JSON.parse(text));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new ClassedError(
    'world_error',
    `diff must return a list of {table or file, key, op, before?, after?}: ${issue?.path.join('.') ?? ''} ` +
      (issue?.message ?? ''),
  );
}
