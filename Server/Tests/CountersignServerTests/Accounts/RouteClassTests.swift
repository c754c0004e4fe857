import CountersignServer
import Endpoints
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing
import _Primitives

@Suite("The table of routes says of each what it gives, and who confirms it (docs/account-changes.md)")
struct RouteClassTests {
    private static let classes: Set = ["gives", "lasts", "takes away", "signs in", "none"]

    /// The rows of the table: method and path, with the class.
    private static func table() throws -> [String: String] {
        let root = (0..<5).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let text = try String(contentsOfFile: root.path + "/docs/account-changes.md", encoding: .utf8)
        let rows = text.matches(of: /\n\| `([A-Z]+ [^`]+)` \| ([a-z ]+) \| ([^|\n]+) \|/)
        #expect(Set(rows.map { String($0.1) }).count == rows.count, "a route has one row")
        return Dictionary(rows.map { (String($0.1), String($0.2)) }) { first, _ in first }
    }

    @Test("each route of the public listener and of the administrators' socket has one row, and each row a route")
    func everyRoute() async throws {
        let server = try await ServerFixture(hasRegistration: true)
        let table = try Self.table()
        let routes = server.assembly.publicRouter().routes + server.assembly.socketRouter().routes
        let mounted = Set(
            routes.filter { $0.method != .head && !$0.path.description.hasPrefix("/assets/") }.map {
                "\($0.method.rawValue) \($0.path.description)"
            })
        #expect(mounted.count > 100)
        for route in mounted.sorted() {
            let known = table[route].map(Self.classes.contains) ?? false
            #expect(known, "no class: \(route)")
        }
        #expect(Set(table.keys).subtracting(mounted).isEmpty, "\(Set(table.keys).subtracting(mounted))")
    }

    @Test("each public endpoint has the class of its row")
    func everyEndpoint() async throws {
        let server = try await ServerFixture(hasRegistration: true)
        let table = try Self.table()
        let endpoints = server.assembly.publicEndpoints
        #expect(endpoints.count > 100)
        for endpoint in endpoints {
            let route = "\(endpoint.method.rawValue) \(endpoint.path)"
            #expect(table[route] == endpoint.effect.rawValue, "another class: \(route)")
        }
    }
}
