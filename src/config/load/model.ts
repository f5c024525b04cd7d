import type { ModelSection } from '../schema/modelSection.ts';
import type { ParsedFile, Path } from '../source/parse.ts';
import { found, pathText } from '../source/validate.ts';
import type { Reading } from './reading.ts';

/** An http(s) URL, `demo:` with an optional query, or a text with `${env:…}` whose value is looked at on submission. */
export function endpointsOf(model: Pick<ModelSection, 'endpoint'>): string[] {
  return typeof model.endpoint === 'string' ? [model.endpoint] : model.endpoint;
}

export function isEndpoint(text: string): boolean {
  return /^demo:(\?.*)?$/.test(text) || /^https?:\/\/[^\s/]+/.test(text);
}

/** What the schema cannot say of a `model:` section that stands at `at`. */
export function checkModel(reading: Reading, parsed: ParsedFile, at: Path, model: ModelSection): void {
  const several = typeof model.endpoint !== 'string';
  const seen = new Set<string>();
  endpointsOf(model).forEach((endpoint, index) => {
    const path = [...at, 'endpoint', ...(several ? [index] : [])];
    if (!endpoint.includes('${env:') && !isEndpoint(endpoint)) {
      const host = /^[\w.-]+(:\d+)?(\/|$)/.test(endpoint);
      reading.tell(parsed, path, {
        code: 'value',
        message: `\`${pathText(path)}\` must be a URL, not ${found(endpoint)}`,
        hint: host ? `Write \`http://${endpoint}\`.` : 'Write for example `http://localhost:8000/v1`, or `demo:`.',
        ...(host ? { fixes: [{ do: 'replace', text: `http://${endpoint}` }] } : {}),
      });
    }
    if (seen.has(endpoint))
      reading.tell(parsed, path, {
        code: 'conflict',
        message: 'this endpoint is listed twice',
        hint: 'Keep one of the two.',
      });
    seen.add(endpoint);
  });
}
