/** The value worker: processes large values without blocking the page. */
import { errorText } from '../../src/common/errors.ts';
import { ValueDocument } from './valueDocument.ts';
import { type Answers, decode, type Question, type WorkerReply, type WorkerRequest } from './workerProtocol.ts';

const MAX_DOCUMENTS = 6;
const documents = new Map<string, ValueDocument>();

function answer(document: string, question: Question): Answers[keyof Answers] | undefined {
  if (question.what === 'load') {
    const loaded = new ValueDocument(decode(question.pieces, question.media));
    documents.set(document, loaded);
    if (documents.size > MAX_DOCUMENTS) documents.delete(documents.keys().next().value ?? '');
    return loaded.shape();
  }
  const cached = documents.get(document);
  if (cached === undefined) return undefined;
  documents.delete(document);
  documents.set(document, cached); // now the newest
  switch (question.what) {
    case 'shape':
      return cached.shape();
    case 'firstOpen':
      return cached.firstOpen();
    case 'rows':
      return cached.rows(new Set(question.open));
    case 'count':
      return cached.count(question.form);
    case 'lines':
      return cached.lines(question.form, question.from, question.to);
    case 'cells':
      return cached.cells(question.from, question.to);
    case 'whole':
      return cached.whole();
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
