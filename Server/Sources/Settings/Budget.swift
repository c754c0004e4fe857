public import _Primitives

/// A used-up budget, as the caller and the operator's log are told. An endpoint that throws the shortage answers 429.
public struct Shortage: Error, Hashable {
    /// The setting by which an operator raises the budget, as `--limits` takes it.
    public let setting: String
    /// The client whose budget is used up; `nil` for a network's budget.
    public let clientID: String?
    /// The seconds after which the budget has something again; an hour at most.
    public let retryAfterSeconds: Int
    /// Advice to the caller.
    public let remedy: String
    /// `true` if the log has not been told of this setting, and of this client, for the pause between two reports.
    public let isNews: Bool
}

/// A budget of sources together with its name, so that a caller without budget can be told the name.
public struct Budget: Sendable {
    private let terms: BudgetTerms
    private let sources: SourceBudget
    private let news: SourceBudget

    /// Makes a budget of these terms. Each of its sources has the burst at once, and the rest each minute after that.
    ///
    /// If the terms set `clients`, the sources belong to clients: each client has room for the number of sources that
    /// the terms set. `pauseOfReports` is the shortest time between two reports to the log.
    public init(_ terms: BudgetTerms, pauseOfReports: Duration = Limits().pauseOfReports) {
        self.terms = terms
        self.sources = SourceBudget(
            burst: terms.burst, perSecond: Double(terms.perMinute) / 60, sources: terms.sources,
            groups: terms.clients ?? 1, protecting: terms.scope)
        self.news = SourceBudget(
            oneIn: pauseOfReports, sources: max(terms.sources, terms.clients ?? 0), protecting: .node)
    }

    /// Spends one of a source's budget and returns `nil`. If the budget is used up, spends nothing and returns the
    /// shortage. The source belongs to `client`.
    public func spend(_ source: String, of client: String? = nil, at now: Timestamp) -> Shortage? {
        guard let seconds = self.sources.spend(source, of: self.group(client), at: now) else { return nil }
        return Shortage(
            setting: self.terms.setting, clientID: client, retryAfterSeconds: seconds, remedy: self.terms.remedy,
            isNews: self.news.spend(client ?? "", at: now) == nil)
    }

    /// Gives one back (``SourceBudget/refund(_:of:)``).
    public func refund(_ source: String, of client: String? = nil) {
        self.sources.refund(source, of: self.group(client))
    }

    private func group(_ client: String?) -> String { self.terms.clients != nil ? client ?? "" : "" }
}
