import Hummingbird

/// A Hummingbird server with one route, as the floor of a server's start: `OneRoute PORT`.
@main
enum OneRoute {
    static func main() async throws {
        guard let port = CommandLine.arguments.dropFirst().first.flatMap({ Int($0) }) else {
            print("usage: OneRoute PORT")
            return
        }
        let router = Router()
        router.get("/") { _, _ in "ready" }
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: port)))
        try await application.runService()
    }
}
