import Ceremony
import Foundation
import Testing

@Suite("The page of diagrams shows what is recorded")
struct DiagramPageTests {
    private static var page: URL {
        (0..<5).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
            .appending(path: "docs/guides/sign-in-diagrams.md")
    }

    @Test("each diagram stands there under its name as it was recorded", arguments: DiagramTests.diagrams)
    func documented(id: String) async throws {
        let recorders = try RunRecorders()
        try await RecordedScene.run(recorders) { try await DiagramTests.play(id, $0) }
        let diagram = try SeedDiagram.named(id)
        let picture = try recorders.drawn(diagram).mermaid(labels: diagram.labels)
        let page = try String(contentsOf: Self.page, encoding: .utf8)
        let section = try #require(
            page.components(separatedBy: "\n## ").first { $0.hasPrefix("\(diagram.testDescription)\n") },
            "docs/guides/sign-in-diagrams.md has no section \(diagram.testDescription)")
        #expect(section.contains("```mermaid\n\(picture)```"), "as it was recorded:\n\(picture)")
        #expect(section.components(separatedBy: "```mermaid").count == 2)
    }

    @Test("it has those diagrams and no others")
    func all() throws {
        let page = try String(contentsOf: Self.page, encoding: .utf8)
        let titles = page.components(separatedBy: "\n## ").dropFirst().map {
            String($0.prefix { $0 != "\n" })
        }
        #expect(try titles == SeedDiagram.all(.signInService).map(\.testDescription))
    }
}
