import type { SubmittedScorer } from '../config/submission.ts';
import type { Scorer, UntrustedWork } from '../rollout/ports.ts';
import { withAnswerCheck } from './answerCheck.ts';
import { containsScorer } from './contains.ts';
import { exactScorer } from './exact.ts';
import { fidelityScorer } from './fidelity.ts';
import { jsonScorer } from './json.ts';
import { judgeScorer } from './judge/judge.ts';
import { type ExportRunner, moduleScorer } from './module.ts';
import { numberScorer } from './number.ts';
import { regexScorer } from './regex.ts';
import { worldScorer } from './world.ts';

export interface ScorerDeps extends ExportRunner {
  readonly untrusted: UntrustedWork;
}

/** Creates the scorer of a batch. Throws StudioError `config` for an invalid pattern. */
export function createScorer(scorer: SubmittedScorer, deps: ScorerDeps): Scorer {
  const created = scorerOf(scorer, deps);
  return scorer.name === undefined ? created : { ...created, name: scorer.name };
}

function scorerOf(scorer: SubmittedScorer, deps: ScorerDeps): Scorer {
  switch (scorer.kind) {
    case 'exact':
      return withAnswerCheck(exactScorer);
    case 'contains':
      return withAnswerCheck(containsScorer(scorer));
    case 'regex':
      return withAnswerCheck(regexScorer(scorer, deps.untrusted));
    case 'number':
      return withAnswerCheck(numberScorer(scorer));
    case 'json':
      return withAnswerCheck(jsonScorer(scorer));
    case 'module':
      return moduleScorer(scorer, deps);
    case 'world':
      return worldScorer;
    case 'fidelity':
      return fidelityScorer;
    case 'judge':
      return judgeScorer(scorer);
  }
}
