/** Documents about calls: lists of them; forms to make one, with their schemas; what one gave. */
export const CALLS_SCHEME = 'rollout-calls';
export const FORM_SCHEME = 'rollout-call';
export const SCHEMA_SCHEME = 'rollout-schema';
export const OUTCOME_SCHEME = 'rollout-call-outcome';
