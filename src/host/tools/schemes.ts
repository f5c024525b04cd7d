/** Forms to try a tool with, their schemas, and what the tool gave. */
export const TRY_SCHEME = 'rollout-try';
