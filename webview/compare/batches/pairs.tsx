/** Says which of two batches was perturbed, how their pairs of attempts ended, and what each rule changed. */
import { plural } from '../../../src/common/text.ts';
import { count } from '../../../src/common/units.ts';
import type { Comparison } from '../../../src/trace/statistics/schema.ts';

/** Draws nothing if neither world has rules. */
export function Pairs({ comparison }: { readonly comparison: Comparison }) {
  const { perturbed, pairs, by_rule: byRule } = comparison;
  if (perturbed.here === null && perturbed.baseline === null) return null;
  const rules = Object.entries(byRule);
  return (
    <section class="batches-pairs" aria-label="Pairs of attempts">
      <p>
        <b>{whichText(perturbed)}</b>{' '}
        <span class="dim">
          {plural(pairs.attempts, 'pair of attempts', 'pairs of attempts')}: {count(pairs.both)} passed in both,{' '}
          {count(pairs.only_in_baseline)} only before, {count(pairs.only_here)} only after, {count(pairs.neither)} in
          neither
        </span>
      </p>
      {rules.length > 0 && (
        <table class="batches-differences" aria-label="Pairs that each rule hit">
          <thead>
            <tr>
              <th scope="col">rule</th>
              <th scope="col">pairs hit</th>
              <th scope="col">passed with it</th>
              <th scope="col">passed without</th>
            </tr>
          </thead>
          <tbody>
            {rules.map(([rule, one]) => (
              <tr key={rule}>
                <th scope="row">{rule}</th>
                <td>{count(one.attempts)}</td>
                <td>{count(one.passed)}</td>
                <td>{count(one.passed_without)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function whichText({ here, baseline }: Comparison['perturbed']): string {
  if (here === true) return baseline === true ? 'Both batches were perturbed.' : 'The later batch was perturbed.';
  return baseline === true ? 'The earlier batch was perturbed.' : 'Neither batch was perturbed.';
}
