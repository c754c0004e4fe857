import Foundation

/// What the app shows, and asks its person: put your own screens here. Whoever goes back throws ``GivenUp``.
protocol TownHallScreen: Sendable {
    func say(_ sentence: String) async
    func agrees(to question: String) async -> Bool
    /// What is typed; nothing where the person types nothing.
    func line(_ question: String) async throws -> String
    /// A PIN, which nobody sees while it is typed.
    func pin(_ question: String) async throws -> String
    func choice(_ question: String, among names: [String]) async throws -> Int
    func openInBrowser(_ address: URL) async
    func wait(for duration: Duration) async throws
}

/// The process ends here, because the person has gone back or cannot go on.
struct GivenUp: Error {
    var sentence = "You gave up, and nothing was done."
}
