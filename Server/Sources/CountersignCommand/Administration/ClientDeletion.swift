import ArgumentParser
import _Primitives

extension ClientCommand {
    /// `admin client delete`.
    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "delete", abstract: "Delete a service; its tokens end at once.")

        @Argument(help: "The client id.")
        var id: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("DELETE", "/clients/\(self.id.pathSegment)")
            self.options.show(answer) { _ in "Deleted." }
        }
    }
}
