/** Checks that endpoints serve the models in files, based on the facts known so far. */
import { fileKind } from '../../common/fileKinds.ts';
import { isJsonObject, type JsonObject } from '../../common/json.ts';
import { publicUrl } from '../../common/redaction/hidable.ts';
import type { Path } from '../../config/source/parse.ts';
import type { Problem } from '../../config/source/problem.ts';
import { closest } from '../../config/source/suggest.ts';
import { isInstalled } from '../../config/submission/installed.ts';
import type { EndpointRef } from '../workspace/facts.ts';
import { valueAt } from '../workspace/valueAt.ts';
import type { Workspace } from '../workspace.ts';

/** Locations of models by file kind. Built-in tool sets that use a model have it next to `builtin:`. */
const MODELS = { agent: ['model'], world: ['user', 'model'], batch: ['scorer', 'model'] } as const satisfies Record<
  string,
  Path
>;
const SETS_WITH_MODEL = ['vision', 'audio'] as const;

export async function servedProblems(workspace: Workspace, path: string): Promise<Problem[]> {
  const parsed = await workspace.parsed(path);
  const kind = fileKind(path);
  if (parsed === undefined || kind === undefined) return [];
  const tools =
    kind === 'agent' && isJsonObject(parsed.value) && Array.isArray(parsed.value['tools']) ? parsed.value['tools'] : [];
  const sets = tools.flatMap((entry: unknown, index) => {
    const chosen = isJsonObject(entry) && Array.isArray(entry['builtin']) ? entry['builtin'] : [];
    // In other entries the key itself is an error, so its endpoint is not queried.
    return SETS_WITH_MODEL.filter((set) => chosen.includes(set)).map((set) => ['tools', index, set, 'model']);
  });
  const places: Path[] = [[...MODELS[kind], 'name'], ...sets];
  return places.flatMap((at) => {
    const model = valueAt(parsed.value, at.slice(0, -1));
    const name = valueAt(parsed.value, at);
    if (!isJsonObject(model)) return [];
    if (typeof name !== 'string' || name.includes('${')) return [];
    return endpointRefs(model)
      .slice(0, 1)
      .flatMap((ref) => {
        const names = workspace.facts.models(ref, workspace.files.isSaved(path));
        if (names === undefined || names.length === 0 || names.includes(name)) return [];
        const suggestion = closest(name, names);
        return [
          parsed.problem(at, {
            code: 'not_served',
            severity: 'warning',
            message: `${publicUrl(ref.endpoint)} does not serve \`${name}\``,
            hint:
              suggestion === undefined
                ? `Available models: ${names.slice(0, 5).join(', ')}.`
                : `Did you mean \`${suggestion}\`?`,
            fixes: (suggestion === undefined ? names.slice(0, 3) : [suggestion]).map((text) => ({
              do: 'replace',
              text,
            })),
          }),
        ];
      });
  });
}

/** Returns the endpoints of a model section, as written. */
export function endpointRefs(model: JsonObject): EndpointRef[] {
  const { endpoint, api_key: apiKey, headers } = model;
  const written = (Array.isArray(endpoint) ? endpoint : [endpoint]).filter(
    (url): url is string => typeof url === 'string',
  );
  const fields = isJsonObject(headers)
    ? Object.fromEntries(
        Object.entries(headers).filter((member): member is [string, string] => typeof member[1] === 'string'),
      )
    : undefined;
  return written
    .filter((url) => !url.startsWith('demo:') && !isInstalled(url))
    .map((url) => ({
      endpoint: url,
      ...(typeof apiKey === 'string' ? { apiKey } : {}),
      ...(fields === undefined ? {} : { headers: fields }),
    }));
}
