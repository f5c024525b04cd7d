/** The estimator of advantages that the user chose, on all pages. */
import { z } from 'zod';
import { ESTIMATORS, type Estimator } from '../../src/trace/groups/advantages.ts';
import { recall, remember } from '../host/memory.ts';

const KEY = 'batch.estimator';

export function chosenEstimator(): Estimator {
  return recall(KEY, z.enum(ESTIMATORS)) ?? 'ms_swift';
}

export function chooseEstimator(estimator: Estimator): void {
  remember(KEY, estimator);
}
