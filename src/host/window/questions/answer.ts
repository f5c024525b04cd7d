/** The result of a question: an answer, back, or undefined if it was closed. */
export const BACK = Symbol('back');
export type Answer<T> = T | typeof BACK | undefined;
