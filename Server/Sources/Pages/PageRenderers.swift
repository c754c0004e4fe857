public import Texts

/// The renderers of the pages, one for each language.
///
/// Each renderer reads the templates of its language once: a request only chooses.
public struct PageRenderers: Sendable {
    /// The languages of the pages.
    public let languages: Languages
    /// The renderer of the usual language.
    public let usual: PageRenderer
    private let all: [PageRenderer]

    /// Creates the renderers of the languages, each renderer by `renderer`.
    public init(_ languages: Languages = .catalogue, _ renderer: (any Language) -> PageRenderer) {
        self.languages = languages
        self.usual = renderer(languages.usual)
        self.all = [self.usual] + languages.all.dropFirst().map(renderer)
    }

    /// Returns the renderer of the language that a person gets by these wishes.
    public func renderer(for wishes: LanguageWishes) -> PageRenderer {
        let tag = self.languages.tag(for: wishes)
        return self.all.first { $0.language.tag == tag } ?? self.usual
    }

    /// The files that the pages of all languages refer to, each path once.
    public var files: [PageAssets.Asset] {
        self.all.flatMap(\.assets.all).reduce(into: []) { files, file in
            if !files.contains(where: { $0.path == file.path }) { files.append(file) }
        }
    }
}
