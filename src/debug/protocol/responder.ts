/** Responds to requests with a result or an error, and cancels requests. */
import type { DebugProtocol } from '@vscode/debugprotocol';
import { errorText, StudioError } from '../../common/errors.ts';

/** The messages of an adapter to its client. */
interface Sender {
  response(response: DebugProtocol.Response): void;
  error(response: DebugProtocol.Response, message: DebugProtocol.Message): void;
}

export class Responder {
  readonly #send: Sender;
  readonly #closed: AbortSignal;
  /** Cancellable requests, by seq. */
  readonly #requests = new Map<number, AbortController>();

  /** `closed`: aborts all requests. */
  constructor(send: Sender, closed: AbortSignal) {
    this.#send = send;
    this.#closed = closed;
  }

  /**
   * Responds to a request with the result of `run`, or its error. `request`: makes it cancellable; `quiet`: the client
   * shows an error only where the answer would be, not as a notification; `then`: runs after the response.
   */
  answer<R extends DebugProtocol.Response>(
    response: R,
    run: (signal: AbortSignal) => R['body'] | Promise<R['body']>,
    {
      request,
      quiet = false,
      then,
    }: { request?: DebugProtocol.Request | undefined; quiet?: boolean; then?: () => void } = {},
  ): void {
    const cancel = new AbortController();
    if (request !== undefined) this.#requests.set(request.seq, cancel);
    Promise.resolve()
      .then(() => run(AbortSignal.any([cancel.signal, this.#closed])))
      .then(
        (body) => {
          response.body = body;
          this.#send.response(response);
          then?.();
        },
        (error: unknown) => {
          this.#send.error(response, messageOf(error, quiet, cancel.signal.aborted));
        },
      )
      .finally(() => {
        if (request !== undefined) this.#requests.delete(request.seq);
      });
  }

  /** Cancels a request. Does nothing if it has ended. */
  cancel(seq: number): void {
    this.#requests.get(seq)?.abort();
  }
}

function messageOf(error: unknown, quiet: boolean, cancelled: boolean): DebugProtocol.Message {
  if (cancelled) return { id: 2, format: 'cancelled' };
  return {
    id: 1,
    format: '{_text}',
    variables: { _text: errorText(error) },
    // An editor may still query the previous stop.
    showUser: !quiet && !StudioError.is(error, 'gone'),
  };
}
