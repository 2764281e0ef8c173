//! Groups: operations that share one transaction with those that queued while the one before was under way.

use std::sync::Arc;

use async_trait::async_trait;
use daemon_store::StoreError;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::failure::TxResult;
use crate::store::ServerLink;
use crate::transaction::{Tries, Tx, TxKind};

/// How many operations share a transaction.
const MAX_GROUP: usize = 256;

/// An operation that can run for many callers at once.
#[async_trait]
pub(crate) trait Grouped: 'static {
    type Input: Send + Sync + 'static;
    type Output: Send + 'static;

    /// The description for errors.
    const CONTEXT: &'static str;

    /// Reports whether an operation can share the transaction of another, which is the first in it.
    fn joins(_next: &Self::Input, _first: &Self::Input) -> bool {
        true
    }

    /// Runs operations in order, and returns a result for each. An error of one of them is a result if the others may be committed.
    async fn run(
        tx: &Tx,
        inputs: &[Self::Input],
    ) -> TxResult<Vec<Result<Self::Output, StoreError>>>;
}

type Answer<G> = Result<<G as Grouped>::Output, StoreError>;

struct Queued<G: Grouped> {
    input: G::Input,
    answer: oneshot::Sender<Answer<G>>,
}

/// The queue of one kind of operation, and the task that works on it.
pub(crate) struct GroupQueue<G: Grouped> {
    queue: mpsc::UnboundedSender<Queued<G>>,
    // Not a caller's own task: a caller that goes away must not take the transaction of the others along.
    _worker: JoinSet<()>,
}

impl<G: Grouped> std::fmt::Debug for GroupQueue<G> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GroupQueue").finish_non_exhaustive()
    }
}

impl<G: Grouped> GroupQueue<G> {
    pub(crate) fn new(link: Arc<ServerLink>) -> Self {
        let (queue, queued) = mpsc::unbounded_channel();
        let mut worker = JoinSet::new();
        worker.spawn(work::<G>(link, queued));
        Self {
            queue,
            _worker: worker,
        }
    }

    /// Runs an operation together with what else waits, and returns after the commit.
    pub(crate) async fn run(&self, input: G::Input) -> Answer<G> {
        let (answer, answered) = oneshot::channel();
        let gone = |_| StoreError::Unavailable {
            context: G::CONTEXT.to_owned(),
            source: None,
        };
        let queued = Queued { input, answer };
        if self.queue.send(queued).is_err() {
            return Err(gone(()));
        }
        answered.await.unwrap_or_else(|_| Err(gone(())))
    }
}

async fn work<G: Grouped>(link: Arc<ServerLink>, mut queue: mpsc::UnboundedReceiver<Queued<G>>) {
    let mut held_back = None;
    loop {
        let first = match held_back.take() {
            Some(queued) => queued,
            None => match queue.recv().await {
                Some(queued) => queued,
                None => return,
            },
        };
        let mut answers = vec![first.answer];
        let mut inputs = vec![first.input];
        // Without a timer: what queued while the transaction before was under way is taken along.
        while inputs.len() < MAX_GROUP {
            match queue.try_recv() {
                Ok(next) if G::joins(&next.input, &inputs[0]) => {
                    answers.push(next.answer);
                    inputs.push(next.input);
                }
                Ok(next) => {
                    held_back = Some(next);
                    break;
                }
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        let results = together::<G>(&link, &inputs).await;
        for (answer, result) in answers.into_iter().zip(results) {
            // A caller that went away needs no answer.
            drop(answer.send(result));
        }
    }
}

/// Runs operations in one transaction; alone if one of them fails, which must not fail the others.
async fn together<G: Grouped>(link: &ServerLink, inputs: &[G::Input]) -> Vec<Answer<G>> {
    match in_transaction::<G>(link, inputs).await {
        Ok(results) => results,
        Err(error) if inputs.len() == 1 => vec![Err(error)],
        Err(StoreError::Unavailable { source, context }) => {
            // Each alone would wait for the server as long again.
            let source: Option<Arc<dyn std::error::Error + Send + Sync>> = source.map(Arc::from);
            let same = || StoreError::Unavailable {
                context: context.clone(),
                source: source.clone().map(Into::into),
            };
            inputs.iter().map(|_| Err(same())).collect()
        }
        Err(_) => {
            let mut results = Vec::with_capacity(inputs.len());
            for input in inputs {
                match in_transaction::<G>(link, std::slice::from_ref(input)).await {
                    Ok(alone) => results.extend(alone),
                    Err(error) => results.push(Err(error)),
                }
            }
            results
        }
    }
}

async fn in_transaction<G: Grouped>(
    link: &ServerLink,
    inputs: &[G::Input],
) -> Result<Vec<Answer<G>>, StoreError> {
    let mut tries = Tries::new(G::CONTEXT);
    loop {
        let tx = match Tx::begin(link, TxKind::Group).await {
            Ok(tx) => tx,
            Err(error) => {
                tries.again(error).await?;
                continue;
            }
        };
        let done = G::run(&tx, inputs).await;
        if let Some(result) = tries.end(link, tx, done).await {
            return result;
        }
    }
}
