/** Loads the query language on first use, because it is the largest part of the page. */
import type { environmentOf, rowEnvironment } from '../../src/trace/query/environment.ts';
import type { compileCondition, compileQuery } from '../../src/trace/query.ts';

interface QueryLanguage {
  readonly compileQuery: typeof compileQuery;
  readonly compileCondition: typeof compileCondition;
  readonly environmentOf: typeof environmentOf;
  readonly rowEnvironment: typeof rowEnvironment;
}

export async function loadQuery(): Promise<QueryLanguage> {
  const [query, environment] = await Promise.all([
    import('../../src/trace/query.ts'),
    import('../../src/trace/query/environment.ts'),
  ]);
  return {
    compileQuery: query.compileQuery,
    compileCondition: query.compileCondition,
    environmentOf: environment.environmentOf,
    rowEnvironment: environment.rowEnvironment,
  };
}
