//! Where an instance keeps its connector or task between calls.

use std::cell::RefCell;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};
use std::thread::LocalKey;

use crate::{Error, Result};

/// Holds one thing that calls borrow in turn: while `poll` waits, `committed` and `stop` may arrive, and wait here until it
/// has returned.
pub(super) struct Slot<T>(RefCell<State<T>>);

enum State<T> {
    /// Nothing was started, or it was stopped.
    Empty,
    Here(T),
    /// A call has it; these wait.
    Lent(Vec<Waker>),
}

impl<T> Slot<T> {
    pub(super) const fn new() -> Self {
        Self(RefCell::new(State::Empty))
    }

    pub(super) fn put(&self, thing: T) {
        self.turn_into(State::Here(thing));
    }

    fn turn_into(&self, state: State<T>) {
        if let State::Lent(waiting) = self.0.replace(state) {
            waiting.into_iter().for_each(Waker::wake);
        }
    }

    fn poll_take(&self, context: &Context<'_>) -> Poll<Result<T>> {
        let mut state = self.0.borrow_mut();
        match std::mem::replace(&mut *state, State::Lent(Vec::new())) {
            State::Here(thing) => Poll::Ready(Ok(thing)),
            State::Empty => {
                *state = State::Empty;
                Poll::Ready(Err(Error::failed("nothing is started in this instance")))
            }
            State::Lent(mut waiting) => {
                waiting.push(context.waker().clone());
                *state = State::Lent(waiting);
                Poll::Pending
            }
        }
    }
}

/// Makes a call on what is in the slot, once no other call has it.
pub(super) async fn lend<T, R>(
    slot: &'static LocalKey<Slot<T>>,
    call: impl AsyncFnOnce(&mut T) -> Result<R>,
) -> Result<R> {
    let mut thing = take(slot).await?;
    let outcome = call(&mut thing).await;
    slot.with(|slot| slot.put(thing));
    outcome
}

/// The same for the last call: the slot is empty afterwards.
pub(super) async fn end<T, R>(
    slot: &'static LocalKey<Slot<T>>,
    call: impl AsyncFnOnce(&mut T) -> Result<R>,
) -> Result<R> {
    let mut thing = take(slot).await?;
    let outcome = call(&mut thing).await;
    slot.with(|slot| slot.turn_into(State::Empty));
    outcome
}

async fn take<T>(slot: &'static LocalKey<Slot<T>>) -> Result<T> {
    poll_fn(|context| slot.with(|slot| slot.poll_take(context))).await
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;

    use super::*;

    thread_local! {
        static SLOT: Slot<i32> = const { Slot::new() };
    }

    #[test]
    fn who_comes_second_waits_until_the_first_has_returned() {
        let mut context = Context::from_waker(Waker::noop());
        SLOT.with(|slot| slot.put(7));
        let open = std::cell::Cell::new(false);
        let mut first = pin!(lend(&SLOT, async |number: &mut i32| {
            poll_fn(|_| if open.get() { Poll::Ready(()) } else { Poll::Pending }).await;
            *number += 1;
            Ok(())
        }));
        let mut second = pin!(end(&SLOT, async |number: &mut i32| Ok(*number)));
        assert!(first.as_mut().poll(&mut context).is_pending());
        assert!(second.as_mut().poll(&mut context).is_pending());
        open.set(true);
        assert!(first.as_mut().poll(&mut context).is_ready());
        assert!(matches!(second.as_mut().poll(&mut context), Poll::Ready(Ok(8))));

        let mut third = pin!(lend(&SLOT, async |_: &mut i32| Ok(())));
        assert!(matches!(third.as_mut().poll(&mut context), Poll::Ready(Err(_))));
    }
}
