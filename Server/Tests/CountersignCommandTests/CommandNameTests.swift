import ArgumentParser
import Testing

@testable import CountersignCommand

@Suite("countersign: the names of commands")
struct CommandNameTests {
    /// Returns a command and all commands below it.
    private func commands(from command: any ParsableCommand.Type) -> [any ParsableCommand.Type] {
        [command] + command.configuration.subcommands.flatMap { self.commands(from: $0) }
    }

    @Test("Each command gives its own name: the parser would derive a missing name at each start, at a high cost")
    func named() {
        let commands = self.commands(from: Countersign.self)
        #expect(commands.count > 100)
        #expect(commands.filter { $0.configuration.commandName == nil }.map { String(describing: $0) } == [])
    }

    @Test("No two commands beside each other have the same name")
    func distinct() {
        for command in self.commands(from: Countersign.self) {
            let names = command.configuration.subcommands.compactMap { $0.configuration.commandName }
            #expect(Set(names).count == names.count, "\(command)")
        }
    }
}
