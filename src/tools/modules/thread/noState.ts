/** Prefix of error messages if a tool read `state` while no world is open. */
export const NO_STATE = '`state` is undefined because no world is open';
