//! Runs the sections of a transcript, each in a world of its own.

use super::document::{self, Block, Kind};
use super::world::World;

/// Runs a transcript and returns it with the output that the program gave.
///
/// # Errors
/// A description, if the transcript cannot be read, a command does not exist or a section runs nothing.
pub(super) fn run(text: &str) -> Result<String, String> {
    let blocks = document::parse(text)?;
    let mut starts: Vec<usize> = (0..blocks.len())
        .filter(|&n| matches!(blocks[n].kind, Kind::Section(_)))
        .collect();
    let setup = &blocks[..starts.first().copied().unwrap_or(blocks.len())];
    if starts.is_empty() {
        return Ok(joined(run_blocks(&World::new(), setup)?));
    }
    starts.push(blocks.len());
    // Sections wait for disks more than they compute, and know nothing of each other.
    let sections = std::thread::scope(|scope| {
        let sections = starts
            .windows(2)
            .map(|bounds| &blocks[bounds[0]..bounds[1]]);
        let running: Vec<_> = sections
            .map(|section| scope.spawn(move || run_section(setup, section)))
            .collect();
        let ended = running.into_iter().map(std::thread::ScopedJoinHandle::join);
        ended
            .map(|ended| ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let mut document: Vec<String> = Vec::new();
    for (set_up, section) in sections {
        if document.is_empty() {
            document.clone_from(&set_up);
        }
        if !document.starts_with(&set_up) {
            return Err(format!(
                "{}: the setup printed something else than before",
                section[0]
            ));
        }
        document.extend(section);
    }
    Ok(joined(document))
}

/// Runs the setup and one section, and returns the lines of each.
fn run_section(
    setup: &[Block<'_>],
    section: &[Block<'_>],
) -> Result<(Vec<String>, Vec<String>), String> {
    if !section
        .iter()
        .any(|block| matches!(block.kind, Kind::Commands(_)))
    {
        return Err(format!(
            "line {}: the section runs nothing",
            section[0].line
        ));
    }
    let world = World::new();
    Ok((run_blocks(&world, setup)?, run_blocks(&world, section)?))
}

/// Runs blocks in a world and returns their lines.
fn run_blocks(world: &World, blocks: &[Block<'_>]) -> Result<Vec<String>, String> {
    let mut document = Vec::new();
    for block in blocks {
        match &block.kind {
            Kind::Prose(lines) => document.extend(lines.iter().map(|&line| line.to_owned())),
            Kind::Section(heading) => document.push((*heading).to_owned()),
            Kind::Files {
                is_committed,
                lines,
            } => {
                let written = world.write_files(lines);
                written.map_err(|error| format!("line {}: {error}", block.line))?;
                document.push(
                    if *is_committed {
                        "```repository"
                    } else {
                        "```files"
                    }
                    .to_owned(),
                );
                document.extend(lines.iter().map(|&line| line.to_owned()));
                document.push("```".to_owned());
                if *is_committed {
                    world.commit();
                }
            }
            Kind::Commands(commands) => {
                document.push("```console".to_owned());
                for command in commands {
                    let output = world.output_of(&command.text());
                    let output =
                        output.map_err(|error| format!("line {}: {error}", command.line))?;
                    document::render_command(command, &output, &mut document);
                }
                document.push("```".to_owned());
            }
        }
    }
    Ok(document)
}

fn joined(lines: Vec<String>) -> String {
    lines.join("\n") + "\n"
}
