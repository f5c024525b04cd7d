/** The value worker: holds large values, so that the page never waits for one. */
import { errorText } from '../../src/common/errors.ts';
import { ValueDocument } from './valueDocument.ts';
import { type Answers, decode, type Question, type WorkerReply, type WorkerRequest } from './workerProtocol.ts';

const KEPT = 6;
const documents = new Map<string, ValueDocument>();

function answer(document: string, question: Question): Answers[keyof Answers] | undefined {
  if (question.what === 'load') {
    const made = new ValueDocument(decode(question.pieces, question.media));
    documents.set(document, made);
    if (documents.size > KEPT) documents.delete(documents.keys().next().value ?? '');
    return made.shape();
  }
  const found = documents.get(document);
  if (found === undefined) return undefined;
  documents.delete(document);
  documents.set(document, found); // now the newest
  switch (question.what) {
    case 'shape':
      return found.shape();
    case 'firstOpen':
      return found.firstOpen();
    case 'rows':
      return found.rows(new Set(question.open));
    case 'count':
      return found.count(question.form);
    case 'lines':
      return found.lines(question.form, question.from, question.to);
    case 'cells':
      return found.cells(question.from, question.to);
    case 'whole':
      return found.whole();
  }
}

self.addEventListener('message', (event: MessageEvent<WorkerRequest>) => {
  const { id, document, question } = event.data;
  let reply: WorkerReply;
  try {
    reply = { id, answer: answer(document, question) };
  } catch (error) {
    reply = { id, error: errorText(error) };
  }
  self.postMessage(reply);
});
