/**
 * Begins the message of a tool's error when the tool read `state` where no world is open: outside a world there is
 * none.
 */
export const NO_STATE = '`state` is undefined, for no world is open';
