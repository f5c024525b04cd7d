/** Longer results are cut; the full result is stored separately. In UTF-8 bytes. */
export const RESULT_BYTES = 1024 * 1024;
/** Maximum size of a stored result or output, in bytes. */
export const KEPT_BYTES = 64 * 1024 * 1024;
/** Maximum output of a call, in characters; the rest is counted and dropped. */
export const PRINT_CHARS = 1024 * 1024;
/** A call that prints more characters than this is stopped. */
export const FLOOD_CHARS = 256 * 1024 * 1024;
/** Maximum length of all messages of one question to a model, in characters. */
export const ASK_CHARS = 4 * 1024 * 1024;
/** Longer answers go through the main thread of their process, in characters. */
export const ANSWER_CHARS = 64 * 1024;
