/** Repeated calls get the recorded answers of models, and nothing is sent. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { answersIn, askRecorded } from '../../../src/rerun/recordedAnswers.ts';
import { TrajectoryModel } from '../../../src/trace/model.ts';
import { USER } from '../../support/rolloutKit.ts';
import { askingTools } from '../../support/stream.ts';

it('a repeated call gets the recorded answers of models to its own questions, each once', async () => {
  const model = new TrajectoryModel();
  model.push(askingTools().events);
  const [grade, rank] = model.tools;
  const asks = (text: string): Parameters<ReturnType<typeof askRecorded>>[0] => ({
    side: 'judge',
    model: USER.model,
    messages: [{ role: 'system', text }],
  });
  const ask = askRecorded(answersIn(model, grade!));
  assert.equal(await ask(asks('Is a polite?')), 'Very polite.');
  const refused = /The model judge was not asked this when the call was recorded, and repeated calls ask no models\./;
  await assert.rejects(ask(asks('Is a polite?')), refused);
  await assert.rejects(ask(asks('Is b polite?')), refused);
  assert.equal(await askRecorded(answersIn(model, rank!))(asks('Is b polite?')), 'Quite rude.');
});
