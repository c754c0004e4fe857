import ArgumentParser

@main
struct PhoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "countersign-phone")
}
