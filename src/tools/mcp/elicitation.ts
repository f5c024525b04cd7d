import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';

/**
 * Answers questions of a server to the user, because a rollout has no user to prompt. Accepts forms where every field
 * has a default; declines everything else, so that nothing is agreed to on behalf of a user.
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
