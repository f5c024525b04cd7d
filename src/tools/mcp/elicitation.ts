import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';

/**
 * A server asks the user something, and a rollout has nobody to ask. A form of which every field has a default is
 * accepted with these defaults; everything else is declined, so that nothing is agreed to in anybody's name.
 */
export function answerElicitation(request: ElicitRequest): ElicitResult {
  const { params } = request;
  if (params.mode === 'url') return { action: 'decline' };
  const content: Record<string, string | number | boolean | string[]> = {};
  for (const [name, field] of Object.entries(params.requestedSchema.properties)) {
    if (!('default' in field) || field.default === undefined) return { action: 'decline' };
    content[name] = field.default;
  }
  return Object.keys(content).length === 0 ? { action: 'decline' } : { action: 'accept', content };
}
