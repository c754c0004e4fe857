@_exported import Foundation
@_exported import Observation
public import UIKit

@MainActor @preconcurrency
public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Self.Body { get }
}

/// A declaration without a body of its own.
public protocol BuiltInView: View where Body == Never {}

extension BuiltInView {
    public var body: Never { fatalError("a declaration without code") }
}

extension Never: View {
    public var body: Never { fatalError("a declaration without code") }
}

public struct EmptyView: BuiltInView {
    public nonisolated init() {}
}

public struct TupleView<each Content: View>: BuiltInView {
    nonisolated init() {}
}

public struct ConditionalContent<First: View, Second: View>: BuiltInView {
    nonisolated init() {}
}

extension Optional: View where Wrapped: View {
    public var body: Never { fatalError("a declaration without code") }
}

@resultBuilder
public enum ViewBuilder {
    public static func buildBlock() -> EmptyView { EmptyView() }
    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
    public static func buildBlock<each Content: View>(_ content: repeat each Content) -> TupleView<repeat each Content>
    {
        TupleView()
    }
    public static func buildExpression<Content: View>(_ content: Content) -> Content { content }
    public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
    public static func buildEither<First: View, Second: View>(first: First) -> ConditionalContent<First, Second> {
        ConditionalContent()
    }
    public static func buildEither<First: View, Second: View>(second: Second) -> ConditionalContent<First, Second> {
        ConditionalContent()
    }
}

public struct Text: BuiltInView {
    public init(verbatim content: String) {}
}

public struct Button<Label: View>: BuiltInView {
    @preconcurrency
    public init<S: StringProtocol>(_ title: S, action: @escaping @MainActor () -> Void) where Label == Text {}
}

public struct Image: BuiltInView {
    public init(uiImage: UIImage) {}
    public func resizable() -> Image { self }
}

public struct HorizontalAlignment: Sendable {
    public static let leading = Self()
    public static let center = Self()
}

public struct VStack<Content: View>: BuiltInView {
    public init(
        alignment: HorizontalAlignment = .center, spacing: CGFloat? = nil, @ViewBuilder content: () -> Content
    ) {}
}

public struct HStack<Content: View>: BuiltInView {
    public init(spacing: CGFloat? = nil, @ViewBuilder content: () -> Content) {}
}

public struct ScrollView<Content: View>: BuiltInView {
    public init(@ViewBuilder content: () -> Content) {}
}

public struct ForEach<Data: RandomAccessCollection, ID: Hashable, Content: View>: BuiltInView {
    public init(_ data: Data, id: KeyPath<Data.Element, ID>, @ViewBuilder content: @escaping (Data.Element) -> Content)
    {}
}

extension ForEach where Data.Element: Identifiable, ID == Data.Element.ID {
    public init(_ data: Data, @ViewBuilder content: @escaping (Data.Element) -> Content) {}
}

public struct PeriodicTimelineSchedule: Sendable {}

public protocol TimelineSchedule {}

extension PeriodicTimelineSchedule: TimelineSchedule {}

extension TimelineSchedule where Self == PeriodicTimelineSchedule {
    public static func periodic(from start: Date, by interval: TimeInterval) -> PeriodicTimelineSchedule {
        PeriodicTimelineSchedule()
    }
}

public struct TimelineViewContext {
    public let date: Date
}

public struct TimelineView<Schedule: TimelineSchedule, Content: View>: BuiltInView {
    public typealias Context = TimelineViewContext
    public init(_ schedule: Schedule, @ViewBuilder content: @escaping (Context) -> Content) {}
}

public struct Font: Sendable {
    public static let title = Self()
    public static let title2 = Self()
    public static let body = Self()
    public static let caption = Self()
}

public enum TextAlignment: Sendable { case leading, center, trailing }

public struct AccessibilityTraits: Sendable {
    public static let isHeader = Self()
}

public struct AccessibilityChildBehavior: Sendable {
    public static let combine = Self()
}

public struct EnabledTextSelectability: TextSelectability {}

public protocol TextSelectability {}

extension TextSelectability where Self == EnabledTextSelectability {
    public static var enabled: EnabledTextSelectability { EnabledTextSelectability() }
}

/// A view with a modifier.
public struct ModifiedView: BuiltInView {
    nonisolated init() {}
}

extension View {
    public func padding() -> some View { ModifiedView() }
    public func font(_ font: Font?) -> some View { ModifiedView() }
    public func frame(minWidth: CGFloat? = nil, minHeight: CGFloat? = nil) -> some View { ModifiedView() }
    public func multilineTextAlignment(_ alignment: TextAlignment) -> some View { ModifiedView() }
    public func textSelection<S: TextSelectability>(_ selectability: S) -> some View { ModifiedView() }
    public func scaledToFit() -> some View { ModifiedView() }
    public func disabled(_ disabled: Bool) -> some View { ModifiedView() }
    public func accessibilityLabel(_ label: Text) -> some View { ModifiedView() }
    public func accessibilityAddTraits(_ traits: AccessibilityTraits) -> some View { ModifiedView() }
    public func accessibilityElement(children: AccessibilityChildBehavior) -> some View { ModifiedView() }
    public func sheet<Content: View>(isPresented: Binding<Bool>, @ViewBuilder content: @escaping () -> Content)
        -> some View
    { ModifiedView() }
}

@propertyWrapper
public struct State<Value> {
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
    public var wrappedValue: Value
}

public struct Binding<Value> {}

@MainActor @preconcurrency
public protocol Scene {}

public struct WindowGroup<Content: View>: Scene {
    public init(@ViewBuilder content: () -> Content) {}
}

@MainActor @preconcurrency
public protocol App {
    associatedtype Body: Scene
    @SceneBuilder var body: Self.Body { get }
    init()
}

extension App {
    public static func main() {}
}

@resultBuilder
public enum SceneBuilder {
    public static func buildBlock<Content: Scene>(_ content: Content) -> Content { content }
}
