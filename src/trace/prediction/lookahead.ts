/** Name of the built-in tool with which an agent asks what a call of another tool would return. */
export const PREDICT = 'predict';
