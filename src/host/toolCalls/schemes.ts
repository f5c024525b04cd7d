/** URI schemes of call documents: lists, forms, their schemas, and results. */
export const CALLS_SCHEME = 'rollout-calls';
export const FORM_SCHEME = 'rollout-call';
export const SCHEMA_SCHEME = 'rollout-schema';
export const OUTCOME_SCHEME = 'rollout-call-outcome';
