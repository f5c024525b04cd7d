/** Describes the tool that only submits the answer: recordings tell it apart by this text. */
export const ANSWER_TOOL = 'Submits the final answer and ends the task. Call it once, when you are done.';
