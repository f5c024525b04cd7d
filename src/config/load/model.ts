import type { ModelSection } from '../schema/modelSection.ts';
import type { ParsedFile, Path } from '../source/parse.ts';
import { describeValue, pathText } from '../source/validate.ts';
import { isInstalled } from '../submission/installed.ts';
import type { Reading } from './reading.ts';

/** Returns the endpoints of a model as a list. */
export function endpointsOf(model: Pick<ModelSection, 'endpoint'>): string[] {
  return typeof model.endpoint === 'string' ? [model.endpoint] : model.endpoint;
}

/** Returns whether a text is an http(s) URL, or `demo:` with an optional query. */
export function isEndpoint(text: string): boolean {
  return /^demo:(\?.*)?$/.test(text) || /^https?:\/\/[^\s/]+/.test(text);
}

/** Checks the `models:` section at `at`. */
export function checkModels(
  reading: Reading,
  parsed: ParsedFile,
  at: Path,
  models: Readonly<Record<string, ModelSection>> | undefined,
): void {
  for (const [name, model] of Object.entries(models ?? {})) checkModel(reading, parsed, [...at, name], model);
}

/** Checks the endpoints of the `model:` section at `at`. Those with `${env:…}` are checked on submission. */
export function checkModel(reading: Reading, parsed: ParsedFile, at: Path, model: ModelSection): void {
  const several = typeof model.endpoint !== 'string';
  const seen = new Set<string>();
  endpointsOf(model).forEach((endpoint, index) => {
    const path = [...at, 'endpoint', ...(several ? [index] : [])];
    if (!endpoint.includes('${env:') && !isEndpoint(endpoint) && !isInstalled(endpoint)) {
      const host = /^[\w.-]+(:\d+)?(\/|$)/.test(endpoint);
      reading.report(parsed, path, {
        code: 'value',
        message: `\`${pathText(path)}\` must be a URL, not ${describeValue(endpoint)}`,
        hint: host
          ? `Write \`http://${endpoint}\`.`
          : 'For example, write `http://localhost:8000/v1`, `target:`, or `demo:`.',
        ...(host ? { fixes: [{ do: 'replace', text: `http://${endpoint}` }] } : {}),
      });
    }
    if (seen.has(endpoint))
      reading.report(parsed, path, {
        code: 'conflict',
        message: 'this endpoint is listed twice',
        hint: 'Remove one of them.',
      });
    seen.add(endpoint);
  });
}
