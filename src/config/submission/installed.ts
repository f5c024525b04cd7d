/** The endpoint `target:` of models that are installed on the target: the server knows where each is, by its name. */
import { isJsonObject } from '../../common/json.ts';

const INSTALLED_ENDPOINT = 'target:';

export function isInstalled(endpoint: string): boolean {
  return endpoint === INSTALLED_ENDPOINT;
}

/** Addresses by the names by which calls may name a model. */
export type InstalledModels = Readonly<Record<string, string>>;

/**
 * Returns a copy in which models at `target:` are at the address of the installed model of their name. Those that are
 * not installed stay as they are.
 */
export function withInstalled<T>(submission: T, models: InstalledModels): T {
  return replaced(submission, (name) => (Object.hasOwn(models, name) ? models[name] : undefined)) as T;
}

/** Returns the names of the models of a submission that are at `target:`. */
export function installedNames(submission: unknown): string[] {
  const names = new Set<string>();
  replaced(submission, (name) => {
    names.add(name);
    return undefined;
  });
  return [...names];
}

/** Finds models wherever they are: of agents, worlds, scorers, and code. */
function replaced(value: unknown, addressOf: (name: string) => string | undefined): unknown {
  if (Array.isArray(value)) return value.map((item) => replaced(item, addressOf));
  if (!isJsonObject(value)) return value;
  const { endpoints, name } = value;
  const isModel = Array.isArray(endpoints) && typeof name === 'string' && endpoints.some(isAt);
  const address = isModel ? addressOf(name) : undefined;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      key === 'endpoints' && isModel && Array.isArray(member)
        ? member.map((one) => (isAt(one) ? (address ?? one) : one))
        : replaced(member, addressOf),
    ]),
  );
}

function isAt(endpoint: unknown): boolean {
  return typeof endpoint === 'string' && isInstalled(endpoint);
}
