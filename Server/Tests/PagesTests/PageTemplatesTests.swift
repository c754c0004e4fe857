import Pages
import Synchronization
import Testing
import Texts

@Suite("Templates of pages")
struct PageTemplatesTests {
    private struct Sound: PageView {
        static let template = "sound"
        static let readings = Mutex(0)
        let name = "Anna"

        static func markup(_ words: TemplateWords) -> String {
            self.readings.withLock { $0 += 1 }
            return "{{<frame}}{{$main}}Hello {{name}}{{/main}}{{/frame}}"
        }
    }

    private struct Broken: PageView {
        static let template = "broken"
        static let readings = Mutex(0)

        static func markup(_ words: TemplateWords) -> String {
            self.readings.withLock { $0 += 1 }
            return "{{name"
        }
    }

    private let renderer = PageRenderer(serviceName: "Example ID", host: "id.example.com", heartbeat: .seconds(15))

    @Test("A template is read once, however many pages it shows")
    func isReadOnce() {
        for _ in 1...3 { #expect(self.renderer.render(Sound(), title: "Greeting").html.contains("Anna")) }
        #expect(Sound.readings.withLock { $0 } == 1)
    }

    @Test("A template that cannot be read is tried once, and shows nothing")
    func isTriedOnce() {
        for _ in 1...3 { #expect(self.renderer.render(Broken(), title: "Nothing").html.isEmpty) }
        #expect(Broken.readings.withLock { $0 } == 1)
    }
}
