//! Conversations over a scripted model, through the public interface.

#[cfg(test)]
mod asking;
#[cfg(test)]
mod bus;
#[cfg(test)]
mod crashes;
#[cfg(test)]
mod delegating;
#[cfg(test)]
mod hooks;
#[cfg(test)]
mod kit;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod queue;
#[cfg(test)]
mod reminders;
#[cfg(test)]
mod skills;
#[cfg(test)]
mod turns;
