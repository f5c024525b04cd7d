import { ClassedError } from '../../trace/classedError.ts';
import type { Subject } from '../gates/subject.ts';
import type { Questions, SideModels } from '../loop/sideModel.ts';
import type { SideQuestion } from '../ports.ts';
import type { Stop } from '../stop.ts';
import type { ProgressTimeout } from './progressTimeout.ts';

interface CallQuestionsParts {
  readonly sideModels: SideModels;
  /** Ends the attempt. */
  readonly stop: Stop;
  readonly subject: Subject<'tool'>;
  /** seq of the lost call that it makes again. */
  readonly lost: number | undefined;
  readonly seed: number;
}

/** What the code of one tool call asks side models, over all its tries. */
export class CallQuestions {
  readonly #parts: CallQuestionsParts;
  #questions: Questions | undefined;
  /** The current try. */
  #now: { readonly stop: Stop; readonly limit: ProgressTimeout } | undefined;

  constructor(parts: CallQuestionsParts) {
    this.#parts = parts;
  }

  /** A try begins. Its questions end with `stop`; `limit` stops while it waits for a reply. */
  begin(stop: Stop, limit: ProgressTimeout): void {
    this.#now = { stop, limit };
  }

  /** Throws ClassedError. An endpoint that is down ends the attempt, unless the question is optional. */
  async ask(question: SideQuestion): Promise<string> {
    const { sideModels, stop, subject, lost, seed } = this.#parts;
    this.#questions ??= sideModels.ofTool(subject.name, seed, () => {
      if (this.#now === undefined) throw new Error('only code that runs asks');
      const { stop: callStop, limit } = this.#now;
      return {
        span: subject.span,
        agent: subject.agent,
        lost,
        stop: callStop,
        rolloutSeed: seed,
        step: () => subject.step,
        onWait: (waiting) => limit.wait(waiting),
      };
    });
    try {
      return await this.#questions.ask(question);
    } catch (thrown) {
      const error = ClassedError.from(thrown, 'model_error');
      if (error.class === 'infrastructure' && question.optional !== true) stop.stop(error);
      throw error;
    }
  }

  /** The same try runs again from its start. */
  again(): void {
    this.#questions?.again();
  }

  /** The current try has ended: ends its open questions. */
  async end(): Promise<void> {
    if (this.#questions === undefined) return;
    const { name } = this.#parts.subject;
    this.#now?.stop.stop(new ClassedError('cancelled', `${name} ended without waiting for it.`));
    await this.#questions.settled();
  }
}
