/** Compares raters two by two, by how often they agree. Pure. */
import { cohensKappa } from './coefficients.ts';

/** What raters say about one attempt: whether it passed. Those who cannot say are left out. */
export type Ratings = Readonly<Record<string, boolean>>;

/** Two raters, on the attempts that both judged. */
export interface RatedPair {
  readonly raters: readonly [string, string];
  readonly compared: number;
  readonly agreed: number;
  /** Cohen's kappa; null if both said the same about every attempt. */
  readonly kappa: number | null;
}

/** Returns all pairs with common attempts, in the order in which the raters first occur. */
export function ratedPairs(attempts: readonly Ratings[]): RatedPair[] {
  const raters = [...new Set(attempts.flatMap((ratings) => Object.keys(ratings)))];
  return raters.flatMap((first, at) =>
    raters.slice(at + 1).flatMap((second): RatedPair[] => {
      const count = (a: boolean, b: boolean): number =>
        attempts.filter((ratings) => ratings[first] === a && ratings[second] === b).length;
      const confusion = [
        [count(true, true), count(true, false)],
        [count(false, true), count(false, false)],
      ];
      const agreed = count(true, true) + count(false, false);
      const compared = confusion.flat().reduce((sum, each) => sum + each, 0);
      if (compared === 0) return [];
      return [{ raters: [first, second], compared, agreed, kappa: cohensKappa(confusion) }];
    }),
  );
}
