/** What a question gives: an answer, the wish to go one step back, or nothing when it was closed. */
export const BACK = Symbol('back');
export type Answer<T> = T | typeof BACK | undefined;
